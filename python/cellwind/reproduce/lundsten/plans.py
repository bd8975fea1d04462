"""The plan of every experiment of the thesis."""

from __future__ import annotations

from . import long_files, model, short_files, small_pdus
from .common import LundstenPlan


def plans() -> dict[str, LundstenPlan]:
    """The plan of every experiment, by its identifier."""
    found = {
        "table-1": model.table_1(),
        "table-2-model": model.model(),
        "table-3": long_files.table_3(),
        "table-4": long_files.table_4(),
        "figure-13": long_files.window_figure((384, 576)),
        "figure-14": long_files.window_figure((384, 1500)),
        "figure-15": long_files.window_figure((128, 576)),
        "figure-16": long_files.window_figure((128, 1500)),
        "table-5": long_files.eifel(),
        "table-6": long_files.westwood(),
        "table-7": long_files.split(),
        "table-8": long_files.in_sequence(),
        "figure-17": long_files.figure_17(),
        "table-9": short_files.table_9(),
        "table-10": short_files.table_10(),
        "table-11": short_files.table_11(),
        "figure-18": short_files.figure_18(),
        "figure-19": short_files.figure_19(),
        "table-12": short_files.table_12_13(50),
        "table-13": short_files.table_12_13(200),
        "table-14": small_pdus.table_14(),
        "table-15": small_pdus.table_15(),
        "figure-20": small_pdus.figure_20(),
        "conclusions": long_files.conclusions(),
    }
    return {f"lundsten-{name}": plan for name, plan in found.items()}
