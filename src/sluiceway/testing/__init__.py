"""Test kit: laws that say in one line what a processor has to keep, doubles, and conformance kits.

The laws, the order report and `sluiceway.testing.strategies` need Hypothesis (extra `testing`),
which is loaded on use.
"""

from sluiceway.testing._behaviours import BEHAVIOURS, behaving
from sluiceway.testing._cancel import CancelAt
from sluiceway.testing._chunks import block_chunks, block_texts
from sluiceway.testing._corpus import HELD_OUT, CorpusPart, CorpusText, LabelledSpan, read_corpus
from sluiceway.testing._doubles import AuditRecorder, FakeClock, Recorded, RecordingProcessor, run_hook
from sluiceway.testing._kits import check_cache, check_detector, check_model, check_processor, check_store
from sluiceway.testing._laws_leaks import LeakSurface, assert_never_leaks
from sluiceway.testing._laws_order import assert_commutes, assert_pairs_kept, assert_same_as_sequential
from sluiceway.testing._laws_runs import assert_cancel_safe, assert_fails_closed, assert_state_isolated
from sluiceway.testing._laws_text import assert_idempotent, assert_split_invariant
from sluiceway.testing._measure import MeasureOptions, measure_detector
from sluiceway.testing._models import ChunkModel, StallingModel
from sluiceway.testing._order_report import Difference, OrderFormat, OrderReport, PairReport, tell_orders
from sluiceway.testing._permutations import permutations_of
from sluiceway.testing._running import Backend
from sluiceway.testing._scores import Counts, Miss, Scores, Speed, Task
from sluiceway.testing._scripts import broken_off, refused, reply_cut
from sluiceway.testing._source import Generator, Source
from sluiceway.testing._texts import cut, every_cut

__all__ = [
    "BEHAVIOURS",
    "HELD_OUT",
    "AuditRecorder",
    "Backend",
    "CancelAt",
    "ChunkModel",
    "CorpusPart",
    "CorpusText",
    "Counts",
    "Difference",
    "FakeClock",
    "Generator",
    "LabelledSpan",
    "LeakSurface",
    "MeasureOptions",
    "Miss",
    "OrderFormat",
    "OrderReport",
    "PairReport",
    "Recorded",
    "RecordingProcessor",
    "Scores",
    "Source",
    "Speed",
    "StallingModel",
    "Task",
    "assert_cancel_safe",
    "assert_commutes",
    "assert_fails_closed",
    "assert_idempotent",
    "assert_never_leaks",
    "assert_pairs_kept",
    "assert_same_as_sequential",
    "assert_split_invariant",
    "assert_state_isolated",
    "behaving",
    "block_chunks",
    "block_texts",
    "broken_off",
    "check_cache",
    "check_detector",
    "check_model",
    "check_processor",
    "check_store",
    "cut",
    "every_cut",
    "measure_detector",
    "permutations_of",
    "read_corpus",
    "refused",
    "reply_cut",
    "run_hook",
    "tell_orders",
]
