"""What releases cost: event x notion -> loss."""

from dosimeter.accounting.losses import NOTIONS, leaves, loss_for

__all__ = ["NOTIONS", "leaves", "loss_for"]
