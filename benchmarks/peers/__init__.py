"""The same work in other libraries, in an environment of its own: `make peers`.

Each module does four kinds of work in one library, in the way its documents show, with a model that
is scripted and without a network or tracing: a call with ten hooks before the model and ten after
it, a streamed chunk past five hooks, three steps side by side and their join, and a chunk through a
workflow of five steps. No hook does anything, so that what is measured is the library. No part of
the tests or of CI: other libraries change, and their figures are theirs.
"""
