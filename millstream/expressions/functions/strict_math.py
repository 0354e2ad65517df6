"""Exponentials, logarithms and angles bit for bit as Spark has them: the algorithms of fdlibm, as Java's StrictMath.

They differ from those of C libraries in the last bit now and then. Those here without bits in hand run in kernels too.
"""

from __future__ import annotations

import math
import struct

LN2 = 0.6931471805599453
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_INVERSE_LN2 = 1.44269504088896338700e00
_P1, _P2, _P3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_P4, _P5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01


def log(x: float) -> float:
    """The natural logarithm of a positive number.

    >>> log(3.0)
    1.0986122886681096
    """
    if math.isnan(x) or math.isinf(x):
        return x
    fraction, exponent = math.frexp(x)
    k, x = exponent - 1, fraction * 2
    high = int((x - 1) * 1048576)  # the upper 20 bits of the fraction
    if high >= 0x6A09C:
        k, x = k + 1, x / 2
    f = x - 1.0
    if high in (0, 0xFFFFE, 0xFFFFF):  # |f| < 2 ** -20
        if f == 0:
            return k * _LN2_HIGH + k * _LN2_LOW
        r = f * f * (0.5 - 0.33333333333333333 * f)
        return f - r if k == 0 else k * _LN2_HIGH - ((r - k * _LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
    if (high - 0x6147A) | (0x6B851 - high) > 0:
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + r))
        return k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)
    return f - s * (f - r) if k == 0 else k * _LN2_HIGH - ((s * (f - r) - k * _LN2_LOW) - f)


log_of = log


def log10(x: float) -> float:
    """The decimal logarithm of a positive number.

    >>> log10(52.0)
    1.716003343634799
    """
    if math.isnan(x) or math.isinf(x):
        return x
    fraction, exponent = math.frexp(x)
    k, x = exponent - 1, fraction * 2
    if k < 0:
        k, x = k + 1, x / 2
    rest = k * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log_of(x)
    return rest + k * 3.01029995663611771306e-01


def exp(x: float) -> float:
    """The number e to the power of another one.

    >>> exp(1.0), exp(710.0), exp(-746.0)
    (2.7182818284590455, inf, 0.0)
    """
    if math.isnan(x) or x > 7.09782712893383973096e02:
        return x if math.isnan(x) else math.inf
    if x < -7.45133219101941108420e02:
        return 0.0
    size = abs(x)
    if size < 3.725290298461914e-09:  # 2 ** -28
        return 1.0 + x
    k, high, low = 0, x, 0.0
    if size >= 0.3465735912322998:  # ln(2) / 2
        below = 1.0397205352783203  # 3 / 2 ln(2)
        k = (1 if x > 0 else -1) if size < below else int(_INVERSE_LN2 * x + (0.5 if x > 0 else -0.5))
        high, low = x - k * _LN2_HIGH, k * _LN2_LOW
        x = high - low
    t = x * x
    c = x - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    if k == 0:
        return 1.0 - ((x * c) / (c - 2.0) - x)
    y = 1.0 - ((low - (x * c) / (2.0 - c)) - high)
    return math.ldexp(y, k) if k >= -1021 else math.ldexp(y, k + 1000) * 9.33263618503218878990e-302


_ATAN_HIGH = (4.63647609000806093515e-01, 7.85398163397448278999e-01, 9.82793723247329054082e-01, math.pi / 2)
_ATAN_LOW = (
    2.26987774529616870924e-17,
    3.06161699786838301793e-17,
    1.39033110312309984516e-17,
    6.12323399573676603587e-17,
)


def atan(x: float) -> float:
    """The angle of a tangent.

    >>> atan(28.0)
    1.5350972141155728
    """
    size = abs(x)
    if math.isnan(x) or size < 2.0**-29:
        return x
    if size >= 2.0**66:
        return math.copysign(_ATAN_HIGH[3] + _ATAN_LOW[3], x)
    part, t = -1, x
    if size >= 2.4375:
        part, t = 3, -1.0 / size
    elif size >= 1.1875:
        part, t = 2, (size - 1.5) / (1.0 + 1.5 * size)
    elif size >= 0.6875:
        part, t = 1, (size - 1.0) / (size + 1.0)
    elif size >= 0.4375:
        part, t = 0, (2.0 * size - 1.0) / (2.0 + size)
    z = t * t
    w = z * z
    odd = w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)
    odd = w * (9.09088713343650656196e-02 + w * (6.66107313738753120669e-02 + odd))
    odd = z * (3.33333333333329318027e-01 + w * (1.42857142725034663711e-01 + odd))
    even = w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02)
    even = w * (-1.11111104054623557880e-01 + w * (-7.69187620504482999495e-02 + even))
    even = w * (-1.99999999998764832476e-01 + even)
    if part < 0:
        return t - t * (odd + even)
    return math.copysign(_ATAN_HIGH[part] - ((t * (odd + even) - _ATAN_LOW[part]) - t), x)


def _high(x: float) -> int:
    """The upper half of the bits of a number, signed."""
    return int(struct.unpack("<i", struct.pack("<d", x)[4:])[0])


def _cut(x: float) -> float:
    """A number without the lower half of its bits."""
    return float(struct.unpack("<d", b"\0\0\0\0" + struct.pack("<d", x)[4:])[0])


def _of_high(high: int, x: float = 0.0) -> float:
    """A number with another upper half of its bits."""
    return float(struct.unpack("<d", struct.pack("<d", x)[:4] + struct.pack("<i", high))[0])


def power(x: float, y: float) -> float:
    """A number to the power of another one.

    >>> power(3.0, 127.0), power(-0.0, -1.0), power(1.0, math.nan), power(-8.0, 0.5)
    (3.9300615259128614e+60, -inf, nan, nan)
    """
    if y == 0:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return math.nan
    size = abs(x)
    if y == 2.0:
        return x * x
    if y == 0.5 and x != -math.inf:
        return math.sqrt(x + 0.0) if x >= 0 else math.nan
    if abs(y) == 1.0:
        return x if y == 1.0 else 1.0 / x if x else math.copysign(math.inf, x)
    if math.isinf(y):
        return math.nan if size == 1.0 else math.inf if (size > 1.0) == (y > 0) else 0.0
    negative = math.copysign(1.0, x) < 0
    whole, odd = y == math.floor(y), y == math.floor(y) and abs(y) < 2.0**53 and int(y) % 2 == 1
    sign = -1.0 if negative and odd else 1.0
    if size == 0.0 or math.isinf(size):
        return sign * (0.0 if (size == 0.0) == (y > 0) else math.inf)
    if negative and not whole:
        return math.nan
    if size == 1.0:
        return sign
    if abs(y) > 2147485695.9999995:
        if size < 0.9999995231628418:
            return sign * (math.inf if y < 0 else 0.0)
        if size > 1.0000009536743162:
            return sign * (math.inf if y > 0 else 0.0)
        t1, t2 = _log2_near_one(size)
    else:
        t1, t2 = _log2(size)
    return sign * _power_of_two(t1, t2, y)


def _log2_near_one(size: float) -> tuple[float, float]:
    t = size - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = 1.44269502162933349609e00 * t
    v = t * 1.92596299112661746887e-08 - w * _INVERSE_LN2
    t1 = _cut(u + v)
    return t1, v - (t1 - u)


def _log2(size: float) -> tuple[float, float]:
    """The binary logarithm of a number as the sum of two."""
    n = 0
    if size < 2.2250738585072014e-308:
        size, n = size * 9007199254740992.0, -53
    high = _high(size)
    n += (high >> 20) - 0x3FF
    bits = high & 0xFFFFF
    normal, k = bits | 0x3FF00000, 0
    if bits > 0x3988E:
        if bits < 0xBB67A:
            k = 1
        else:
            n, normal = n + 1, normal - 0x100000
    size = _of_high(normal, size)
    base, more_high, more_low = ((1.0, 0.0, 0.0), (1.5, 5.84962487220764160156e-01, 1.35003920212974897128e-08))[k]
    u, v = size - base, 1.0 / (size + base)
    s = u * v
    s_high = _cut(s)
    t_high = _of_high(((normal >> 1) | 0x20000000) + 0x80000 + (k << 18))
    t_low = size - (t_high - base)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    s2 = s * s
    r = 2.30660745775561754067e-01 + s2 * 2.06975017800338417784e-01
    r = 3.33333329818377432918e-01 + s2 * (2.72728123808534006489e-01 + s2 * r)
    r = s2 * s2 * (5.99999999999994648725e-01 + s2 * (4.28571428578550184252e-01 + s2 * r))
    r += s_low * (s_high + s)
    s2 = s_high * s_high
    t_high = _cut(3.0 + s2 + r)
    t_low = r - ((t_high - 3.0) - s2)
    u = s_high * t_high
    v = s_low * t_high + t_low * s
    p_high = _cut(u + v)
    p_low = v - (p_high - u)
    z_high = 9.61796700954437255859e-01 * p_high
    z_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01 + more_low
    t1 = _cut(((z_high + z_low) + more_high) + n)
    return t1, z_low - (((t1 - n) - more_high) - z_high)


def _power_of_two(t1: float, t2: float, y: float) -> float:
    """2 to the power of (t1 + t2) * y."""
    y1 = _cut(y)
    p_low, p_high = (y - y1) * t1 + y * t2, y1 * t1
    z = p_low + p_high
    if z > 1024.0 or (z == 1024.0 and p_low + 8.0085662595372944372e-0017 > z - p_high):
        return math.inf
    if z < -1075.0 or (z == -1075.0 and p_low <= z - p_high):
        return 0.0
    n = 0
    if abs(z) > 0.5:
        high = _high(z)
        k = ((high & 0x7FFFFFFF) >> 20) - 0x3FF
        rounded = high + (0x100000 >> (k + 1))
        k = ((rounded & 0x7FFFFFFF) >> 20) - 0x3FF
        p_high -= _of_high(rounded & ~(0xFFFFF >> k))
        n = ((rounded & 0xFFFFF) | 0x100000) >> (20 - k)
        n = -n if high < 0 else n
    t = _cut(p_low + p_high)
    u = t * 6.93147182464599609375e-01
    v = (p_low - (t - p_high)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09
    z = u + v
    w = v - (z - u)
    t = z * z
    t1 = z - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    r = (z * t1) / (t1 - 2.0) - (w + z * w)
    return math.ldexp(1.0 - (r - z), n)
