# SPDX-License-Identifier: Apache-2.0
"""Quantization: observers, calibration, recipes, and programs with fewer bits."""

from samara.exporter.quantize.observers import Entropy as Entropy
from samara.exporter.quantize.observers import MinMax as MinMax
from samara.exporter.quantize.observers import MovingAverage as MovingAverage
from samara.exporter.quantize.observers import Mse as Mse
from samara.exporter.quantize.observers import Observer as Observer
from samara.exporter.quantize.observers import Percentile as Percentile
from samara.exporter.quantize.observers import channel_scales as channel_scales
from samara.exporter.quantize.observers import choose_parameters as choose_parameters
from samara.exporter.quantize.observers import make_observer as make_observer
from samara.exporter.quantize.recipe import LayerRecipe as LayerRecipe
from samara.exporter.quantize.recipe import Recipe as Recipe
from samara.exporter.quantize.scheme import SCHEMES as SCHEMES
