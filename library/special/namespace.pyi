# from the table names.toml by `make names`: do not edit
"""`lamina.special`: special functions under scipy's names, composed of graph ops.

Each is accurate to some units in the last place over its whole domain, and so are its derivatives, which are those of the
formulas: branches that a `select` leaves out are computed at harmless points."""

from typing import Any

from ..nn.activations import erf as erf
from ..nn.softmax import log_softmax as log_softmax
from ..nn.softmax import logsumexp as logsumexp
from ..nn.softmax import softmax as softmax
from .bessel import bessel_jn as bessel_jn
from .bessel import i0 as i0
from .bessel import i0e as i0e
from .bessel import i1 as i1
from .bessel import i1e as i1e
from .bessel import j0 as j0
from .bessel import j1 as j1
from .box_cox import boxcox as boxcox
from .box_cox import boxcox1p as boxcox1p
from .box_cox import inv_boxcox as inv_boxcox
from .box_cox import inv_boxcox1p as inv_boxcox1p
from .combinations import comb as comb
from .combinations import perm as perm
from .complex_gamma import loggamma as loggamma
from .elliptic import agm as agm
from .elliptic import ellipe as ellipe
from .elliptic import ellipk as ellipk
from .elliptic import ellipkm1 as ellipkm1
from .faddeeva import wofz as wofz
from .formulas import cosm1 as cosm1
from .formulas import erfi as erfi
from .formulas import exp10 as exp10
from .formulas import exprel as exprel
from .formulas import huber as huber
from .formulas import log_expit as log_expit
from .formulas import pseudo_huber as pseudo_huber
from .formulas import softplus as softplus
from .gamma_products import beta as beta
from .gamma_products import factorial as factorial
from .gamma_products import gamma as gamma
from .gamma_products import poch as poch
from .gamma_products import polygamma as polygamma
from .gamma_products import rgamma as rgamma
from .gammas import bernoulli as bernoulli
from .gammas import betaln as betaln
from .gammas import gammaln as gammaln
from .gammas import gammasgn as gammasgn
from .gammas import multigammaln as multigammaln
from .gammas import zeta as zeta
from .harmonics import sph_harm_y as sph_harm_y
from .incomplete import betainc as betainc
from .incomplete import expn as expn
from .incomplete import gammainc as gammainc
from .incomplete import gammaincc as gammaincc
from .incomplete import hyp1f1 as hyp1f1
from .incomplete import hyp2f1 as hyp2f1
from .integrals import dawsn as dawsn
from .integrals import exp1 as exp1
from .integrals import expi as expi
from .integrals import fresnel as fresnel
from .integrals import sici as sici
from .integrals import spence as spence
from .normal import entr as entr
from .normal import erfcinv as erfcinv
from .normal import erfcx as erfcx
from .normal import erfinv as erfinv
from .normal import expit as expit
from .normal import kl_div as kl_div
from .normal import log_ndtr as log_ndtr
from .normal import logit as logit
from .normal import ndtr as ndtr
from .normal import ndtri as ndtri
from .normal import owens_t as owens_t
from .normal import rel_entr as rel_entr
from .normal import xlog1py as xlog1py
from .normal import xlogy as xlogy
from .polygammas import digamma as digamma

def cbrt(x: Any, /) -> Any:
    """`np.cbrt`: the cube root, of negative numbers too."""

def erfc(x: Any, /) -> Any:
    """Complement of the error function, `1 - erf(x)`, accurate until it vanishes."""

def exp2(x: Any, /) -> Any:
    """`np.exp2`: 2 to the power of `x`."""

def expm1(x: Any, /) -> Any:
    """`np.expm1`, on arrays and traced arrays."""

def log1p(x: Any, /) -> Any:
    """`np.log1p`, on arrays and traced arrays."""

def psi(x: Any, /) -> Any:
    """The derivative of `gammaln`; infinite at 0, by the sign of that, and NaN at negative whole numbers."""

def sinc(x: Any, /) -> Any:
    """`np.sinc`: sin(pi * x) / (pi * x), 1 at 0, where all derivatives are right, too."""

__all__ = [
    "agm", "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "cbrt", "comb", "cosm1", "dawsn",
    "digamma", "ellipe", "ellipk", "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfi", "erfinv", "exp1", "exp10",
    "exp2", "expi", "expit", "expm1", "expn", "exprel", "factorial", "fresnel", "gamma", "gammainc", "gammaincc", "gammaln",
    "gammasgn", "huber", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "inv_boxcox", "inv_boxcox1p", "j0", "j1", "kl_div",
    "log1p", "log_expit", "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
    "owens_t", "perm", "poch", "polygamma", "pseudo_huber", "psi", "rel_entr", "rgamma", "sici", "sinc", "softmax", "softplus",
    "spence", "sph_harm_y", "wofz", "xlog1py", "xlogy", "zeta",
]
