"""What releases cost: event x notion -> loss."""

from dosimeter.accounting.fitting import least_noise
from dosimeter.accounting.losses import NOTIONS, is_proven_loss, loss_for
from dosimeter.accounting.trade import Trade, slack_trade

__all__ = ["NOTIONS", "Trade", "is_proven_loss", "least_noise", "loss_for", "slack_trade"]
