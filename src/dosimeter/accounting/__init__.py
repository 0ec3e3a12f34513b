"""What releases cost: event x notion -> loss."""

from dosimeter.accounting.losses import NOTIONS, loss_for

__all__ = ["NOTIONS", "loss_for"]
