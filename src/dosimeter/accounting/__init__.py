"""What releases cost: event x notion -> loss."""

from dosimeter.accounting.fitting import Fit, least_fit, least_noise
from dosimeter.accounting.losses import NOTIONS, is_proven_loss, loss_for
from dosimeter.accounting.trade import Trade, slack_trade

__all__ = ["NOTIONS", "Fit", "Trade", "is_proven_loss", "least_fit", "least_noise", "loss_for", "slack_trade"]
