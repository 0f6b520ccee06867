"""The Trax course's assignment: its functions, on today's Python and JAX.

Importing it imports Trax, in two seconds and without TensorFlow, and mends it; `siamese
doctor` lists what is mended. Where Trax is not installed, what needs none still works.
"""

import sys

from siamese.course.trax.importing import import_trax, mend
from siamese.nn import similarity
from siamese.text.punkt import provide_punkt

__all__ = ["similarity"]  # Notebook 1 asks for it here.

import_trax()
if "nltk" in sys.modules:  # To import it would take a second more.
    mend(provide_punkt, sys.modules["nltk"])
