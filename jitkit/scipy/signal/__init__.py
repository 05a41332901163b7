"""`jitkit.scipy.signal`: filters and spectra of sampled signals. In the order of reading:

    convolving     convolve, correlate and fftconvolve: slide one array over another
    trends         detrend: subtract a mean, or straight lines
    segments       the Fourier transforms of overlapping parts of a signal
    spectra        stft, csd and welch, which use these, and istft, which puts the parts together again

JAX: jax/_src/scipy/signal.py:convolve
"""

from __future__ import annotations

import sys

from ...base import late_rooms, missing_names

late_rooms.attach(__name__)
missing_names.explain("scipy.signal", sys.modules[__name__])
