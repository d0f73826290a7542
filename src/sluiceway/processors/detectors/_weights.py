"""What each sign of prompt injection weighs, alone and near another: fitted to the corpus, which see.

A sign is a meaning of `_phrases_concepts`, `_phrases_signals` and `_phrases_shapes`, or begins with `=` and is a shape
of the window. Two groups joined by `+` stand near each other. The sum is that of a logistic regression: from 0 on it is
more likely an attack than the tolerated share of false alarms allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["BIAS", "GROUPS", "WEIGHTS"]

BIAS: Final = -7.27
"""What an empty window weighs."""

GROUPS: Final[Mapping[str, tuple[str, str]]] = {
    "drop": ("injection", "drop|let go"),
    "orders": ("injection", "ownorders"),
    "reveal": ("data-exfiltration", "reveal it|show"),
    "full": ("data-exfiltration", "unabridged|verbatim"),
    "own": ("data-exfiltration", "system text|ownprompt|weakprompt|secretprompt|your words|given|beforeme"),
    "prior": ("injection", "above text|prior|before us"),
    "void": ("injection", "mere test|void|expired|reset"),
    "mine": ("injection", "my way|mine|myorders|outrank|newtask|takeover|task"),
    "role": ("role-manipulation", "accomplice|role|in character"),
    "free": ("jailbreak", "no limits|nolimit|freed|unruled|nowarn|twice|forbidden"),
    "harm": ("jailbreak", "crime|harm"),
    "authority": ("system-override", "maker claim|authority|privileged|maker"),
    "lift": ("system-override", "lifted by me|ownsafety|off|unlock"),
    "model": ("injection", "aisure|model named|ifai|aireads"),
    "called": ("injection", "addressed|hailed|noted"),
    "data": ("injection", "carrier|comment|hidden|header"),
    "say": ("injection", "say so|push|betray"),
    "do": ("tool-exfiltration", "do so|acts|tool|danger|pipeshell"),
    "loot": ("tool-exfiltration", "loot|strong|stored"),
    "send": ("tool-exfiltration", "send|dest|web|tome"),
    "quiet": ("tool-exfiltration", "quiet|secretly"),
    "threat": ("jailbreak", "or else|pretext"),
    "imposed": ("data-exfiltration", "imposed"),
    "you": ("", "your"),
    "only": ("injection", "only"),
    "whenever": ("injection", "whenever"),
    "all": ("injection", "all"),
    "hidden": ("data-exfiltration", "hidden kind"),
    "task": ("injection", "user's task"),
    "reported": ("", "reported"),
    "matter": ("", "other matter"),
    "topic": ("", "topic|meta"),
    "asking": ("", "asking|asks"),
    "must": ("", "must|modal"),
    "safety": ("system-override", "safety"),
    "game": ("data-exfiltration", "game"),
}
"""Meanings that are weighed as one when they stand near others, and the type of finding that they speak for."""

WEIGHTS: Final = """\
    0.28 =asked
    -2.75 =code
    2.98 =decoded
    1.27 =disguised
    -1.73 =quoted
    -1.21 =quoted example
    -2.68 =settings
    5.04 accomplice
    -0.21 acts
    0.38 aireads
    1.01 aisure
    0.15 all
    -0.36 asks
    0.53 authority
    2.52 before us
    -1.29 comment
    0.44 crime
    2.27 danger
    -0.10 dest
    0.07 do so
    5.17 forbidden
    1.93 freed
    0.96 game
    0.59 given
    -0.70 hailed
    1.05 harm
    2.66 header
    4.15 ifai
    0.90 let go
    0.88 lifted by me
    0.59 loot
    2.02 maker claim
    3.64 mine
    -0.41 modal
    2.35 model named
    2.69 my way
    0.51 newtask
    2.17 no limits
    0.95 nolimit
    1.19 noted
    0.60 nowarn
    0.37 off
    -0.11 only
    -0.72 other matter
    0.29 ownorders
    0.59 ownprompt
    3.79 ownsafety
    0.84 pretext
    3.33 quiet
    -0.60 reported
    1.03 reset
    0.11 reveal it
    1.98 role
    2.60 say so
    3.02 stored
    1.49 system text
    2.12 takeover
    4.60 task
    1.65 tome
    0.18 tool
    -6.00 topic
    1.45 twice
    1.45 unabridged
    0.45 unruled
    0.11 user's task
    0.58 void
    1.63 your
    -0.28 your words
    0.20 all + authority
    0.34 all + model
    0.12 all + must
    0.68 all + orders
    0.34 all + own
    1.41 all + prior
    0.33 all + reveal
    -0.75 all + role
    0.17 all + say
    0.20 all + send
    0.22 all + void
    0.62 all + whenever
    0.28 all + you
    -0.13 asking + authority
    2.76 asking + harm
    0.07 asking + must
    0.22 authority + data
    0.67 authority + drop
    0.38 authority + lift
    0.17 authority + mine
    0.48 authority + role
    1.92 authority + safety
    0.89 authority + you
    0.69 called + do
    2.66 called + say
    0.86 data + do
    0.35 data + loot
    2.57 data + model
    0.80 data + must
    0.11 data + orders
    0.72 data + prior
    1.39 data + reveal
    1.07 data + say
    -0.33 do + drop
    0.67 do + free
    -0.88 do + lift
    0.29 do + loot
    0.07 do + matter
    0.31 do + model
    -0.08 do + must
    -0.97 do + only
    -1.14 do + orders
    -0.21 do + prior
    0.11 do + quiet
    -0.42 do + reveal
    1.76 do + task
    1.66 drop + only
    2.12 drop + orders
    1.76 drop + prior
    0.98 drop + reveal
    0.14 drop + send
    2.71 free + harm
    0.30 free + orders
    1.03 free + prior
    0.82 free + role
    0.24 free + you
    1.01 full + imposed
    0.26 full + must
    0.91 full + own
    0.36 full + reveal
    0.86 harm + must
    0.95 harm + role
    1.31 harm + threat
    -0.76 hidden + loot
    2.32 hidden + orders
    -0.42 hidden + send
    0.83 hidden + you
    0.69 imposed + model
    0.43 imposed + only
    0.91 imposed + own
    0.12 imposed + reveal
    0.27 imposed + void
    0.49 lift + matter
    -0.95 lift + only
    -0.13 lift + orders
    1.04 lift + you
    0.14 loot + must
    -0.36 loot + orders
    -0.26 loot + own
    0.73 loot + reveal
    0.25 loot + say
    3.18 loot + send
    0.56 matter + model
    -1.65 matter + orders
    -0.79 matter + prior
    -0.59 matter + reveal
    -0.52 matter + send
    0.12 matter + topic
    1.34 mine + orders
    0.60 mine + prior
    -0.19 mine + whenever
    1.24 model + must
    0.75 model + role
    1.02 model + say
    0.67 model + you
    -0.06 must + prior
    -0.64 must + role
    0.18 must + say
    0.22 must + send
    -0.93 must + you
    -0.37 only + reveal
    -0.41 only + you
    1.47 orders + own
    0.19 orders + prior
    0.46 orders + void
    2.36 own + reveal
    0.37 own + void
    0.67 own + you
    1.10 prior + reveal
    0.11 prior + role
    -1.13 reveal + role
    -1.18 reveal + safety
    -0.19 reveal + send
    0.09 reveal + you
    0.16 role + send
    0.11 role + you
    0.25 say + send
    1.84 say + void
    0.58 say + you
    1.04 whenever + you
"""
