"""The figures behind the claims, each made again by one command: a chart, its data, and the numbers to check it by."""

from dosimeter.report.reproduce.figures import Reproduced, crossing, save
from dosimeter.report.reproduce.filters import FILTER_FIGURES
from dosimeter.report.reproduce.odometers import ODOMETER_FIGURES

FIGURES = {"odometers": ODOMETER_FIGURES, "filters": FILTER_FIGURES}

__all__ = ["FIGURES", "FILTER_FIGURES", "ODOMETER_FIGURES", "Reproduced", "crossing", "save"]
