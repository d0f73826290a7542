"""Every parser of what comes from outside, on input that is made up, valid, and valid but broken.

Each gives a value or the one kind of error that it promises, and comes to an end. `ci` tries
a hundred inputs of each, `deep` three thousand.
"""
