# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation: programs, built, edited, checked, run and stored."""

from samara.exporter.ir.builder import Builder as Builder
from samara.exporter.ir.builder import ProgramBuilder as ProgramBuilder
from samara.exporter.ir.constant_layout import PADDING as PADDING
from samara.exporter.ir.custom_needs import RequiredOp as RequiredOp
from samara.exporter.ir.custom_needs import required_ops as required_ops
from samara.exporter.ir.cut import cut as cut
from samara.exporter.ir.cut import only_reached as only_reached
from samara.exporter.ir.file_constants import ConstantInfo as ConstantInfo
from samara.exporter.ir.file_read import ModelFile as ModelFile
from samara.exporter.ir.file_read import from_bytes as from_bytes
from samara.exporter.ir.file_read import open_program as open_program
from samara.exporter.ir.file_read import read_file as read_file
from samara.exporter.ir.file_verify import Damage as Damage
from samara.exporter.ir.file_verify import Verification as Verification
from samara.exporter.ir.file_verify import verify_file as verify_file
from samara.exporter.ir.file_write import Golden as Golden
from samara.exporter.ir.file_write import save_program as save_program
from samara.exporter.ir.file_write import to_bytes as to_bytes
from samara.exporter.ir.fold import can_fold as can_fold
from samara.exporter.ir.fold import fold_node as fold_node
from samara.exporter.ir.freeze import as_constant as as_constant
from samara.exporter.ir.freeze import freeze as freeze
from samara.exporter.ir.gradient import backward as backward
from samara.exporter.ir.gradient import gradient as gradient
from samara.exporter.ir.infer import infer_node as infer_node
from samara.exporter.ir.infer import re_infer as re_infer
from samara.exporter.ir.infer import signature_of as signature_of
from samara.exporter.ir.interpret import run as run
from samara.exporter.ir.memory_contract import Memory as Memory
from samara.exporter.ir.notebook import program_html as _program_html
from samara.exporter.ir.printer import count_ops as count_ops
from samara.exporter.ir.printer import print_function as print_function
from samara.exporter.ir.printer import print_node as print_node
from samara.exporter.ir.printer import print_program as print_program
from samara.exporter.ir.program import Array as Array
from samara.exporter.ir.program import Function as Function
from samara.exporter.ir.program import Methods as _Methods
from samara.exporter.ir.program import Node as Node
from samara.exporter.ir.program import Program as Program
from samara.exporter.ir.program import Source as Source
from samara.exporter.ir.program import Value as Value
from samara.exporter.ir.program import Variable as Variable
from samara.exporter.ir.program import constant as constant
from samara.exporter.ir.program import place_of as place_of
from samara.exporter.ir.program import set_methods as _set_methods
from samara.exporter.ir.rename import rename as rename
from samara.exporter.ir.rewriter import Rewriter as Rewriter
from samara.exporter.ir.verify import verify as verify
from samara.exporter.ir.verify import verify_function as verify_function

_set_methods(_Methods(run=run, cut=cut, gradient=gradient, text=print_program, html=_program_html))
