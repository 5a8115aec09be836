"""lamina.special: integrals without a closed form, by Chebyshev expansions of their smooth parts.

Coefficients are those of polynomials through points of the parts, computed with 40 digits or more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...api import Tracer, build, full_like_tracer, operation
from ...api.functions import with_slopes
from ..numpy.elementwise import compare, select
from ..numpy.math import sign_factor, sinc
from .parts import LOG_RATIO, NEAR_LOG, as_float, chebyshev, polynomial


def _between(x: Tracer, low: float, high: float) -> Tracer:
    """A number where it is in a range, one of the range elsewhere: the argument for a formula of the range."""
    return build("min", build("max", x, full_like_tracer(x, low)), full_like_tracer(x, high))


def _constant(x: Tracer, value: float) -> Tracer:
    return full_like_tracer(x, value)


def _below(x: Tracer, limit: float) -> Tracer:
    return compare("lt", x, _constant(x, limit))


def _nan_where(condition: Tracer, y: Tracer) -> Tracer:
    return select(condition, _constant(y, math.nan), y)


# --------------------------------------------------------------------------------------------------------------------
# Exponential integrals

# of (E1(x) + log(x) + gamma) / x in 2 x - 1, x up to 1; of x exp(x) E1(x) in 1 / x, from 1 to 4 and beyond
_EIN = (
    0.8929826881663436, -0.101460888300299, 0.00530781119573653, -0.00023899597694710021, 9.290769396383831e-06,
    -3.1581738828230066e-07, 9.510775521324008e-09, -2.566991224055996e-10, 6.27159499700903e-12, -1.3988053416635327e-13,
    2.8688702680848184e-15, -5.4444045385000516e-17,
)  # fmt: skip
_E1_MIDDLE = (
    0.6971133766796983, -0.1125352434836609, 0.01343226624790278, -0.0019268451873811457, 0.0003091183377206032,
    -5.356413212961842e-05, 9.827812880247493e-06, -1.8853689849165184e-06, 3.7494319356894736e-07, -7.682345587055264e-08,
    1.6143270567198776e-08, -3.4668022114907356e-09, 7.587542091903628e-10, -1.6886433329881412e-10, 3.8145706749552266e-11,
    -8.733026632444629e-12, 2.023672864586796e-12, -4.741328303955583e-13, 1.1221172048389864e-13, -2.680422543484031e-14,
    6.457851441771653e-15, -1.5682760501666479e-15, 3.8367865399315405e-16, -9.451717302757913e-17, 2.3434812288949573e-17,
    -5.845866158021471e-18,
)  # fmt: skip
_E1_FAR = (
    0.9053540999623492, -0.08648117855259871, 0.007224101543746595, -0.0008097559457557386, 0.00010999134432661389,
    -1.7173329989377674e-05, 2.9856275144792833e-06, -5.65964914577193e-07, 1.15268083971414e-07, -2.4950304402693382e-08,
    5.692324201833754e-09, -1.3599576648056003e-09, 3.3846628887608844e-10, -8.737853904474682e-11, 2.33158866322266e-11,
    -6.411481049213786e-12, 1.8122469802048165e-12, -5.253831761558461e-13, 1.5592182725919257e-13, -4.7291682970803986e-14,
    1.4637618643932435e-14, -4.617388988712924e-15, 1.4827103482893693e-15, -4.841672496239229e-16, 1.6062155757002903e-16,
    -5.408917538957171e-17, 1.847470159346898e-17, -6.395830792759095e-18,
)  # fmt: skip


def _in_reciprocals(x: Tracer, low: float, high: float, coefficients: tuple[float, ...]) -> Tracer:
    """A polynomial in 1 / x for x from `low` to `high`."""
    ends = 0.0 if high == math.inf else 1 / high, 1 / low
    return chebyshev((2.0 / x - (ends[0] + ends[1])) / (ends[1] - ends[0]), coefficients)


def _exp1_of_positive(x: Tracer) -> Tracer:
    near = _between(x, np.finfo(x.dtype).tiny, 1)
    y = near * chebyshev(near + near - 1.0, _EIN) - build("log", near) - np.euler_gamma
    middle, far = _between(x, 1, 4), build("max", x, _constant(x, 4))
    beyond = build("exp", -far) / far * _in_reciprocals(far, 4, math.inf, _E1_FAR)
    between = build("exp", -middle) / middle * _in_reciprocals(middle, 1, 4, _E1_MIDDLE)
    return select(_below(x, 1), y, select(_below(x, 4), between, beyond))


def _exp1(at: Tracer) -> Tracer:
    positive = compare("gt", at, _constant(at, 0))
    y = _exp1_of_positive(select(positive, at, _constant(at, 1)))
    zero, infinite = compare("eq", at, _constant(at, 0)), compare("eq", at, _constant(at, math.inf))
    y = select(positive, select(infinite, _constant(y, 0), y), select(zero, _constant(y, math.inf), _constant(y, math.nan)))
    return y


_exp1_with_slope = with_slopes(_exp1, lambda y, x: -build("exp", -x) / x)


@operation
def exp1(x: Any, /) -> Any:
    """The exponential integral `E1(x)`, of `exp(-t) / t` from `x` on; infinite at 0, NaN below."""
    return _exp1_with_slope(as_float(x))


# Ei(x) = log(x / zero) + (x - zero) exp(x) c(x / 3 - 1), x up to 6; beyond of x exp(-x) Ei(x) in 1 / x
_EI_ZERO, _EI_ZERO_REST = 0.3725074107813666, 1.3140183414386028e-17
_EI_NEAR = (
    0.33727681594765524, -0.4525076068906478, 0.2090523437694096, -0.0743944993444719, 0.021555372014280427,
    -0.005264730701335164, 0.0011106438252691622, -0.00020608872723872445, 3.411704316264504e-05, -5.096435167063712e-06,
    6.934155941129699e-07, -8.660431291978029e-08, 9.99483649842807e-09, -1.0719313683756776e-09, 1.0736230073250161e-10,
    -1.0085619945466715e-11, 8.920149853912878e-13, -7.452978926584112e-14, 5.900524142853923e-15, -4.4385118565551224e-16,
    3.180097850379622e-17, -2.1750663340009564e-18,
)  # fmt: skip
_EI_6_12 = (
    1.186519731605943, 0.08867277799156566, 0.004538849615854891, -0.0007360917133533506, -0.0001311802094421383,
    1.860281858277769e-05, 1.7610424153850599e-06, -6.410426692376372e-07, 4.3431190977401596e-08, 9.457713014017885e-09,
    -2.804867660824966e-09, 2.9077513809389464e-10, 1.5005396668585005e-11, -1.1038674953026538e-11, 2.0752769575841014e-12,
    -1.824894014255641e-13, -1.3060424323093775e-14, 8.22817443438954e-15, -1.7064640854405607e-15, 2.0895115006185691e-16,
    -6.96952388785186e-18,
)  # fmt: skip
_EI_12_24 = (
    1.0733284937260361, 0.028589376984320986, 0.0009877354599019657, 6.535142674684368e-05, 4.080867437625506e-06,
    -3.589926611838061e-07, -1.3445734356897559e-07, -3.096554001036047e-09, 2.9939580378560676e-09, 6.636901195446687e-11,
    -7.580298873512545e-11, 2.91093271006445e-12, 1.6949183480316525e-12, -2.4843531143767757e-13, -1.4921371160913075e-14,
    8.569592517547666e-15, -8.552327771250706e-16, -9.567382338710219e-17, 3.92278471915959e-17, -4.34268592032165e-18,
)  # fmt: skip
_EI_24_48 = (
    1.0335633144954905, 0.01194944774791583, 0.00014984654203383354, 3.1020372988441315e-06, 9.655715284928462e-08,
    4.421953602438201e-09, 2.961811656103438e-10, 2.532877233740852e-11, 1.759338647355267e-12, -8.195941935743879e-14,
    -5.291781796133732e-14, -6.672672088083768e-15, 3.4527393101734467e-16, 1.8789530911802142e-16, 5.122811993425012e-18,
    -4.2991421600959165e-18,
)  # fmt: skip
_EI_48 = (
    1.0107605092742287, 0.010878323438924555, 0.00011979560394849838, 2.026995752581765e-06, 4.6900702245060815e-08,
    1.3931421596912e-09, 5.108132848770682e-11, 2.251871069398116e-12, 1.1717193052565767e-13, 7.102165089449786e-15,
    4.968725666498446e-16, 3.988627092302658e-17,
)  # fmt: skip
_EI_RANGES = ((6, 12, _EI_6_12), (12, 24, _EI_12_24), (24, 48, _EI_24_48), (48, math.inf, _EI_48))


def _expi_of_positive(x: Tracer) -> Tracer:
    near = _between(x, np.finfo(x.dtype).tiny, 6)
    zero = float(x.dtype.type(_EI_ZERO))
    off = (near - zero) - (_EI_ZERO - zero + _EI_ZERO_REST)
    # beside the zero the logarithm is that of a ratio that is nearly 1
    beside = _below(build("abs", off), 0.1)
    log = select(
        beside,
        build("log1p", select(beside, off, _constant(off, 0)) / _EI_ZERO),
        build("log", near) - math.log(_EI_ZERO),
    )
    y = log + off * build("exp", near) * chebyshev(near / 3.0 - 1.0, _EI_NEAR)
    for low, high, coefficients in _EI_RANGES:
        at = _between(x, low, high)
        # in two factors, of which none is infinite before the result is
        half = build("exp", at * 0.5)
        value = half * (_in_reciprocals(at, low, high, coefficients) / at) * half
        y = select(_below(x, low), y, value)
    return y


def _expi(at: Tracer) -> Tracer:
    positive, negative = compare("gt", at, _constant(at, 0)), _below(at, 0)
    below = -_exp1(select(negative, -at, _constant(at, 1)))
    y = select(negative, below, _expi_of_positive(select(positive, at, _constant(at, 1))))
    y = select(compare("eq", at, _constant(at, math.inf)), at, y)
    y = select(compare("eq", at, _constant(at, 0)), _constant(y, -math.inf), y)
    return _nan_where(compare("ne", at, at), y)


def _endless(x: Tracer) -> Tracer:
    return compare("eq", build("abs", x), _constant(x, math.inf))


# a product, since terms of the quotient rule would be infinite
_exp_ratio = with_slopes(lambda x: build("exp", x) / select(_endless(x), _constant(x, 1), x), lambda y, x: y * (1.0 - 1.0 / x))
_expi_with_slope = with_slopes(_expi, lambda y, x: _exp_ratio(x))


@operation
def expi(x: Any, /) -> Any:
    """The exponential integral `Ei(x)`, the principal value of the integral of `exp(t) / t` up to `x`; `-E1(-x)` below 0."""
    return _expi_with_slope(as_float(x))


# --------------------------------------------------------------------------------------------------------------------
# Sine and cosine integrals, Fresnel's

# of Si(x) / x and of (Ci(x) - log(x) - gamma) / x^2 in x^2 / 18 - 1; of x f(x) and x^2 g(x) in 2 (6 / x)^2 - 1, where
# Si(x) = pi / 2 - f(x) cos(x) - g(x) sin(x), Ci(x) = f(x) sin(x) - g(x) cos(x)
_SI_NEAR = (
    0.5087834196708464, -0.36229678488974704, 0.10789221711536721, -0.018830204411799018, 0.0020405502643601283,
    -0.0001487433956038126, 7.766261124466676e-06, -3.044691359351253e-07, 9.290471558889857e-09, -2.2692965524032308e-10,
    4.5379981848801926e-12, -7.567162163119217e-14, 1.0683964853782718e-15, -1.2937980244059442e-17,
)  # fmt: skip
_CIN_NEAR = (
    -0.14022432631440304, 0.08875416506158704, -0.01841833890650003, 0.0023858220785470917, -0.00020445746330252182,
    1.2322166011773935e-05, -5.487245229260128e-07, 1.8765710225710948e-08, -5.080525355582219e-10, 1.115695523277196e-11,
    -2.0271537211071305e-13, 3.0979253389659693e-15, -4.0374463501384964e-17,
)  # fmt: skip
_SICI_F = (
    0.9767778062771753, -0.02197218508329343, 0.0011232046938771288, -0.0001083490895268049, 1.505206314279923e-05,
    -2.6599215432382115e-06, 5.58592829449588e-07, -1.3372162340116028e-07, 3.5502421173627534e-08, -1.025499296310472e-08,
    3.178063441526503e-09, -1.0455877698803724e-09, 3.622253542959848e-10, -1.3128087542375367e-10, 4.9516670531745603e-11,
    -1.9353417661611706e-11, 7.810177850315818e-12, -3.2444863604336883e-12, 1.3838577467967924e-12, -6.046894764436891e-13,
    2.701664207109706e-13, -1.2321286862292983e-13, 5.727457975063198e-14, -2.7100542494416735e-14, 1.303754510994193e-14,
    -6.370305768069715e-15, 3.158362840605897e-15, -1.5875644281077644e-15, 8.084125997770297e-16, -4.1673703083021623e-16,
    2.1734008772955244e-16, -1.1460699241877008e-16, 6.107190496423641e-17, -3.287114910421774e-17, 1.78620728490791e-17,
    -9.795072150082839e-18, 5.418396638480621e-18,
)  # fmt: skip
_SICI_G = (
    0.9367752389168196, -0.058032949637417994, 0.004513991530830914, -0.0005602864909207058, 9.279269376733397e-05,
    -1.8736580628715197e-05, 4.378035222959662e-06, -1.145290455669897e-06, 3.279975777430942e-07, -1.0120870183579359e-07,
    3.3252959074192526e-08, -1.152903003037622e-08, 4.188305528064697e-09, -1.5853064437410815e-09, 6.223270883431366e-10,
    -2.524072448907465e-10, 1.05433189259426e-10, -4.523462990668428e-11, 1.988737157060707e-11, -8.941854432457746e-12,
    4.104544741118276e-12, -1.9205508944913944e-12, 9.147955270174135e-13, -4.430361495122725e-13, 2.1792472755804332e-13,
    -1.0877000019369523e-13, 5.503908910695948e-14, -2.821322675544156e-14, 1.4640123802748844e-14, -7.685383627219525e-15,
    4.079036015719638e-15, -2.187682798238087e-15, 1.1850277113975334e-15, -6.480214195036807e-16, 3.5758668959060797e-16,
    -1.9903635864013415e-16, 1.1170760268362326e-16, -6.319510706078276e-17, 3.602431517536348e-17, -2.0686632029875727e-17,
    1.1963110152666138e-17, -6.965378076123557e-18, 4.0821080608734324e-18,
)  # fmt: skip


def _sici(at: Tracer) -> tuple[Tracer, Tracer]:
    size = at * sign_factor(at)
    near, far = _between(size, np.finfo(at.dtype).tiny, 6), build("max", size, _constant(size, 6))
    inside = near * near / 18.0 - 1.0
    back = 6.0 / far
    outside = 2.0 * back * back - 1.0
    f, g = chebyshev(outside, _SICI_F) / far, chebyshev(outside, _SICI_G) / far / far
    infinite = compare("eq", size, _constant(size, math.inf))
    angle = select(infinite, _constant(far, 0), far)
    sine, cosine = build("sin", angle), build("cos", angle)
    far_si, far_ci = 0.5 * math.pi - f * cosine - g * sine, f * sine - g * cosine
    far_si = select(infinite, _constant(far, 0.5 * math.pi), far_si)
    far_ci = select(infinite, _constant(far, 0), far_ci)
    below = _below(size, 6)
    si = select(below, size * chebyshev(inside, _SI_NEAR), far_si) * sign_factor(at)
    ci = select(below, near * near * chebyshev(inside, _CIN_NEAR) + build("log", near) + np.euler_gamma, far_ci)
    ci = select(compare("eq", at, _constant(at, 0)), _constant(at, -math.inf), _nan_where(_below(at, 0), ci))
    unknown = compare("ne", at, at)
    return _nan_where(unknown, si), _nan_where(unknown, ci)


def _sine_ratio(y: Tracer, x: Tracer) -> Tracer:
    """`sin(x) / x`; near 0 in a form whose derivatives do not cancel."""
    near = compare("lt", x * sign_factor(x), _constant(x, 1))
    return select(
        near, sinc(select(near, x, _constant(x, 0)) * (1 / math.pi)), build("sin", x) / select(near, _constant(x, 1), x)
    )


_si = with_slopes(lambda x: _sici(x)[0], _sine_ratio)
# by the quotient rule the second slope at 0 is a difference of infinite terms
_cosine_ratio = with_slopes(lambda x: build("cos", x) / x, lambda y, x: -_sine_ratio(y, x) - y / x)


def _ci_slope(y: Tracer, x: Tracer) -> Tracer:
    infinite = compare("eq", build("abs", x), _constant(x, math.inf))
    return select(infinite, _constant(x, 0), _cosine_ratio(select(infinite, _constant(x, 1), x)))


_ci = with_slopes(lambda x: _sici(x)[1], _ci_slope)


@operation
def sici(x: Any, /) -> Any:
    """The integrals of `sin(t) / t` from 0 and of `cos(t) / t` from infinity, to `x`; the second one NaN below 0.

    Near their zeros the errors are some units in the last place of 1.
    """
    x = as_float(x)
    return _si(x), _ci(x)


# of S(x) / x^3 and C(x) / x in x^4 / 8 - 1; of pi x f(x) and pi^2 x^3 g(x) in 2 (2 / x)^4 - 1, where with u = pi x^2 / 2
# S(x) = 1/2 - f(x) cos(u) - g(x) sin(u), C(x) = 1/2 + f(x) sin(u) - g(x) cos(u)
_FRESNEL_S = (
    0.19918673864190226, -0.22356648669212584, 0.08202822552969624, -0.016602561737554058, 0.0020382145350386067,
    -0.00016643843000521268, 9.674781743977045e-06, -4.2065853292879686e-07, 1.4200048580250818e-08,
    -3.8304499680234226e-10, 8.448489681753256e-12, -1.5523581348897443e-13, 2.4133399377221522e-15, -3.216107060101517e-17,
)  # fmt: skip
_FRESNEL_C = (
    0.39740718857599805, -0.3100070983680217, 0.21349075614188737, -0.06678900553022198, 0.011085973995082385,
    -0.0011365259733006202, 7.927825032635591e-05, -4.013934222204706e-06, 1.544413153283575e-07, -4.6730963378884215e-09,
    1.1418677215891532e-10, -2.301397740065535e-12, 3.8926496918449476e-14, -5.605750788138861e-16, 6.957468574802044e-18,
)  # fmt: skip
_FRESNEL_F = (
    0.991626739680822, -0.008052203424540985, 0.00029454464004463875, -2.3184205711282275e-05, 2.7816279679823775e-06,
    -4.380481148872489e-07, 8.361281637108393e-08, -1.8440948293587535e-08, 4.555365698926041e-09, -1.2335018608278001e-09,
    3.604690893785707e-10, -1.1236671586647923e-10, 3.7028666625184366e-11, -1.2807983295141648e-11, 4.6235762678674735e-12,
    -1.7337729837334538e-12, 6.727135138591914e-13, -2.691950871701093e-13, 1.1078763851148124e-13, -4.6780175975540305e-14,
    2.0224469698184788e-14, -8.936143499816187e-15, 4.028923718028703e-15, -1.850896040314612e-15, 8.653361638543367e-16,
    -4.1125476559925356e-16, 1.984829391034456e-16, -9.719125407311961e-17, 4.8246486352886104e-17, -2.4261288007484504e-17,
    1.2350236991205881e-17, -6.360316366282213e-18,
)  # fmt: skip
_FRESNEL_G = (
    0.9615334202175058, -0.036030028653009645, 0.002169175989382814, -0.00022669950819482923, 3.297074653210468e-05,
    -5.994014740738009e-06, 1.2819008953592865e-06, -3.105139099909486e-07, 8.305725385638261e-08, -2.4097249079203716e-08,
    7.484025285660633e-09, -2.46343859660216e-09, 8.527162860057405e-10, -3.0848123057606947e-10, 1.1604518933372687e-10,
    -4.520605189444535e-11, 1.8173148740166264e-11, -7.517158820283856e-12, 3.1913798601385185e-12, -1.3876045530340895e-12,
    6.167358909259154e-13, -2.7974624414230893e-13, 1.293095898735698e-13, -6.083308136235504e-14, 2.9093314820741894e-14,
    -1.4130071278802666e-14, 6.962917319067048e-15, -3.4783271009709414e-15, 1.760159607828738e-15, -9.016452291866738e-16,
    4.672472657355135e-16, -2.4481249714768587e-16, 1.2961782107064325e-16, -6.931493519915911e-17, 3.742163114464015e-17,
    -2.0387769115874487e-17, 1.120464665410099e-17, -6.209408588811854e-18,
)  # fmt: skip


def _quarter_turns(x: Tracer) -> tuple[Tracer, Tracer]:
    """`sin` and `cos` of `pi x^2 / 2`: the square is reduced modulo 4 exactly before it is rounded."""
    whole = build("rint", x)
    rest = x - whole
    # x^2 = whole^2 + 2 whole rest + rest^2; whole^2 modulo 4 is 0 or 1, and 2 whole rest is reduced by parts
    odd = whole - 2.0 * build("floor", whole * 0.5)
    middle = 2.0 * (whole - 2.0 * build("rint", whole * 0.5)) * rest + 4.0 * _fraction(build("rint", whole * 0.5), rest)
    turn = (odd + middle + rest * rest) * (0.5 * math.pi)
    return build("sin", turn), build("cos", turn)


def _fraction(whole: Tracer, rest: Tracer) -> Tracer:
    """`whole * rest` less a whole number, from the product in two parts."""
    product = whole * rest
    split = 2.0 ** math.ceil((np.finfo(rest.dtype).nmant + 1) / 2) + 1.0
    wide = rest * split
    high = wide - (wide - rest)
    wide = whole * split
    top = wide - (wide - whole)
    error = ((top * high - product) + top * (rest - high) + (whole - top) * high) + (whole - top) * (rest - high)
    return (product - build("rint", product)) + error


def _fresnel(at: Tracer) -> tuple[Tracer, Tracer]:
    size = at * sign_factor(at)
    near = _between(size, 0, 2)
    square = near * near
    inside = square * square * 0.125 - 1.0
    far = _between(size, 2, 1e18 if at.dtype == np.float64 else 1e6)
    back = 4.0 / (far * far)
    outside = 2.0 * back * back - 1.0
    f, g = chebyshev(outside, _FRESNEL_F) / (math.pi * far), chebyshev(outside, _FRESNEL_G) / (math.pi**2 * far * far * far)
    sine, cosine = _quarter_turns(far)
    below = _below(size, 2)
    s = select(below, square * near * chebyshev(inside, _FRESNEL_S), 0.5 - f * cosine - g * sine) * sign_factor(at)
    c = select(below, near * chebyshev(inside, _FRESNEL_C), 0.5 + f * sine - g * cosine) * sign_factor(at)
    unknown = compare("ne", at, at)
    return _nan_where(unknown, s), _nan_where(unknown, c)


_fresnel_s = with_slopes(lambda x: _fresnel(x)[0], lambda y, x: _quarter_turns(x)[0])
_fresnel_c = with_slopes(lambda x: _fresnel(x)[1], lambda y, x: _quarter_turns(x)[1])


@operation
def fresnel(x: Any, /) -> Any:
    """Fresnel's integrals of `sin(pi t^2 / 2)` and `cos(pi t^2 / 2)` from 0 to `x`."""
    x = as_float(x)
    return _fresnel_s(x), _fresnel_c(x)


# --------------------------------------------------------------------------------------------------------------------
# Spence's function, Dawson's

# of Li2(1 - exp(-u)) / u in u / log(2): the odd coefficients beyond the first are 0
_SPENCE = (
    1.0066490756053457, -0.17328679513998632, 0.006641141566624101, 0.0, -7.917930219734077e-06, 0.0, 1.607110343619158e-08,
    0.0, -3.730616128496609e-11, 0.0, 9.202567470276804e-14, 0.0, -2.3531730122526595e-16,
)  # fmt: skip


def _spence(at: Tracer) -> Tracer:
    large = compare("gt", at, _constant(at, 2))
    # spence(x) = -spence(1/x) - log(x)^2 / 2; spence(x) = pi^2/6 - log(x) log(1-x) - spence(1-x)
    inner = select(large, 1.0 / select(large, at, _constant(at, 2)), at)
    low = _below(inner, 0.5)
    rest = _between(inner, 0, 0.5)
    positive = compare("gt", rest, _constant(rest, 0))
    product = build("log", select(positive, rest, _constant(rest, 1))) * build("log1p", -rest)
    u = -build("log", select(low, 1.0 - rest, _between(inner, 0.5, 2)))
    value = u * chebyshev(u * (1 / math.log(2)), _SPENCE)
    value = select(low, math.pi**2 / 6 - product - value, value)
    log = build("log", select(large, at, _constant(at, 2)))
    y = select(large, -value - 0.5 * log * log, value)
    y = select(compare("eq", at, _constant(at, math.inf)), _constant(y, -math.inf), y)
    return _nan_where(build("or", _below(at, 0), compare("ne", at, at)), y)


def _spence_slope(y: Tracer, x: Tracer) -> Tracer:
    u = x - 1.0
    near, infinite = _below(build("abs", u), NEAR_LOG), compare("eq", x, _constant(x, math.inf))
    away = _log_ratio(select(build("or", near, infinite), _constant(x, 2), x))
    away = select(infinite, _constant(x, 0), away)
    return -select(near, polynomial(select(near, u, _constant(x, 0)), LOG_RATIO), away)


def _log_ratio_slope(y: Tracer, x: Tracer) -> Tracer:
    zero = compare("eq", x, _constant(x, 0))
    elsewhere = select(zero, _constant(x, 2), x)
    regular = (1.0 - elsewhere * _log_ratio(elsewhere)) / (elsewhere * (elsewhere - 1.0))
    return select(zero, _log_ratio_pole(select(zero, x, _constant(x, 2))), regular)


# by the quotient rule slopes at 0 are differences of infinite terms, of which that of 1 / x is the greatest
_log_ratio_pole = with_slopes(lambda x: 1.0 / (x * (x - 1.0)), lambda y, x: (1.0 - 2.0 * x) * y * y)
_log_ratio = with_slopes(lambda x: build("log", x) / (x - 1.0), _log_ratio_slope)

_spence_with_slope = with_slopes(_spence, _spence_slope)


@operation
def spence(x: Any, /) -> Any:
    """Spence's function, the integral of `log(t) / (1 - t)` from 1 to `x`; NaN below 0."""
    return _spence_with_slope(as_float(x))


# of D(x) / x in x^2 / 8 - 1, x up to 4; of 2 x D(x) in 2 (4 / x)^2 - 1 beyond
_DAWSON_NEAR = (
    0.22155672794739223, -0.3181134699616813, 0.20873845413642236, -0.12475409913779131, 0.06786930518667678,
    -0.03365914489527094, 0.015260781271987971, -0.006348370962596214, 0.002432674092074852, -0.0008621954149106503,
    0.00028376573336321624, -8.705754987417042e-05, 2.4986849985481658e-05, -6.73192867641603e-06, 1.7078578785573543e-06,
    -4.091755122647538e-07, 9.282829221675577e-08, -1.9991403610147617e-08, 4.096349064408219e-09, -8.003240954099317e-10,
    1.4938503128761465e-10, -2.668799988562233e-11, 4.571221698515946e-12, -7.518730522204356e-13, 1.1893100052629682e-13,
    -1.8116907933852348e-14, 2.661173368435897e-15, -3.773886305212942e-16, 5.1727953789087173e-17, -6.86036840840775e-18,
)  # fmt: skip
_DAWSON_FAR = (
    1.016904856377657, 0.017366504556813916, 0.0004849728084835431, 2.52236479914538e-05, 2.132906629272354e-06,
    2.716319589581455e-07, 4.342084713154597e-08, 5.734021003610591e-09, -3.80267278607164e-10, -6.195560968790402e-10,
    -2.0588297521150185e-10, -1.2520712918919153e-11, 1.7126264994892902e-11, 6.066090296151318e-12, -5.047236613618582e-13,
    -8.421209590881329e-13, -8.862281653292477e-14, 9.82242054568241e-14, 2.4717124845678067e-14, -1.157746639803314e-14,
    -4.565446589614717e-15, 1.5274298822028253e-15, 7.703093767133623e-16, -2.3998641138565813e-16, -1.2626878300189145e-16,
    4.4791199319459505e-17, 1.997585166015299e-17, -9.362136548644991e-18,
)  # fmt: skip


def _dawson(at: Tracer) -> Tracer:
    near = _between(at, -4, 4)
    size = build("max", at * sign_factor(at), _constant(at, 4))
    back = 4.0 / size
    far = chebyshev(2.0 * back * back - 1.0, _DAWSON_FAR) / (size + size) * sign_factor(at)
    y = select(_below(build("abs", at), 4), near * chebyshev(near * near * 0.125 - 1.0, _DAWSON_NEAR), far)
    return _nan_where(compare("ne", at, at), y)


def _dawson_slope(y: Tracer, x: Tracer) -> Tracer:
    finite = select(_endless(x), _constant(x, 0), x)
    return select(_endless(x), _constant(x, 0), 1.0 - 2.0 * finite * _dawson_with_slope(finite))


_dawson_with_slope = with_slopes(_dawson, _dawson_slope)


@operation
def dawsn(x: Any, /) -> Any:
    """Dawson's integral, `exp(-x^2)` times the integral of `exp(t^2)` from 0 to `x`."""
    return _dawson_with_slope(as_float(x))
