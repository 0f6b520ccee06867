"""A greeting and a slip in a word do not change what a question is; names and addresses stay."""

import numpy as np
import pytest
from small_models import letters

from siamese import DuplicateDetector
from siamese.search.encoders import find_encoder

SLIPS = {
    "Why did you recieve it, and beacuse of what?": "Why did you receive it, and because of what?",
    "Is it diffrent sofware?": "Is it different software?",
    "Fololwing the intrenet": "Following the internet",
}
NO_SLIPS = (
    "Is Mangalore or Bangalore in Karnataka, and who is Premji?", "layoffs, slimming, thirsty, seduce",
    "see exampel.com, user@gogle.com, @fololwing, well-konwn, beacuse1 or beCause", "frm teh hte",
    "Wie groß ist die Wohnungsbaugesellschaft?", "Schokoladenkuchen backen", "",
    "a" * 10**6,
)  # fmt: skip


@pytest.fixture(scope="module")
def use():
    return DuplicateDetector.pretrained()


def test_slips_are_set_right_and_names_addresses_and_other_words_stay(use):
    for text, expected in (*SLIPS.items(), *zip(NO_SLIPS, NO_SLIPS)):
        assert use.encoder.respelled(text) == expected
        assert find_encoder(letters).respelled(text) == text


def test_encoders_side_by_side_set_slips_right():
    assert find_encoder("use+use").respelled("beacuse of it") == "because of it"


def test_a_question_as_typed_has_the_vector_of_the_question(use):
    plain = "How do I receive messages of a different server?"
    typed = "Hi all, how do I recieve messages of a diffrent server? Thanks in advance!"
    np.testing.assert_allclose(use.similarity(plain, typed), 1, atol=1e-6)
    assert use.similarity(plain, "How do I remove messages of a different server?") < 0.999
