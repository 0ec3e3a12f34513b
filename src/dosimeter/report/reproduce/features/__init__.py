"""The experiment on perturbed features: data, public feature maps, mechanisms, accuracy."""

from dosimeter.report.reproduce.features.experiment import imgm_features

__all__ = ["imgm_features"]
