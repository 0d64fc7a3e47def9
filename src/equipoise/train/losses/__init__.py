"""The losses of the papers, one a file: a term is a function from Features to one number.

Terms are added up by `Sum`, which is what a recipe hands to the loop. A new loss is one function
and its explanation; nothing else has to know of it.
"""

from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.dac import dac_mil, dac_negative
from equipoise.train.losses.fsc import FscGlobal, FscLocal
from equipoise.train.losses.imc import Imc
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.negclip import negclip_loss
from equipoise.train.losses.siglip import siglip_loss
from equipoise.train.losses.sum import Sum
from equipoise.train.losses.svlc import svlc_analogy, svlc_negative

__all__ = [
    "Cmr",
    "FscGlobal",
    "FscLocal",
    "Imc",
    "Sum",
    "clip_loss",
    "dac_mil",
    "dac_negative",
    "itc_hn",
    "negclip_loss",
    "siglip_loss",
    "svlc_analogy",
    "svlc_negative",
]
