# SPDX-License-Identifier: Apache-2.0
"""Reports on models: what is in a file, how two ways of running it agree, how fast it is."""

from samara.exporter.reports._files import OpenedFile as OpenedFile
from samara.exporter.reports._files import opened as opened
from samara.exporter.reports.doctor import DoctorReport as DoctorReport
from samara.exporter.reports.doctor import doctor as doctor
from samara.exporter.reports.html import html_page as html_page
from samara.exporter.reports.inspect import Report as Report
from samara.exporter.reports.inspect import inspect as inspect
from samara.exporter.reports.operators import OperatorsReport as OperatorsReport
from samara.exporter.reports.operators import operators as operators
