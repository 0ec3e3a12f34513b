"""Figures and the HTML statement: what people look at."""

from dosimeter.report.figure import OdometerFigure, svg
from dosimeter.report.registry import registry_entry
from dosimeter.report.statement import html
from dosimeter.report.trace import odometer_figure

__all__ = ["OdometerFigure", "html", "odometer_figure", "registry_entry", "svg"]
