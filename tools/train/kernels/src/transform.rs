//! Winograd's transforms of one dimension for four outputs of a filter of three, F(4, 3), with the points 0, ±1, ±2, ∞
//! (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015): `y = Aᵀ [(G w) ⊙ (Bᵀ d)]`, and the adjoint of
//! each. A tile of two dimensions is transformed by columns, then by rows.

use crate::vector::Vector;

/// `Bᵀ d`: six inputs.
#[inline(always)]
pub fn input<V: Vector>(d: [V; 6]) -> [V; 6] {
    let (two, four, minus_four, minus_five) =
        (V::splat(2.0), V::splat(4.0), V::splat(-4.0), V::splat(-5.0));
    let (p, q) = (d[2].mul_add(minus_four, d[4]), d[1].mul_add(minus_four, d[3]));
    let (r, s) = (d[4].minus(d[2]), d[3].minus(d[1]).times(two));
    [
        d[0].mul_add(four, d[2].mul_add(minus_five, d[4])),
        p.plus(q),
        p.minus(q),
        r.plus(s),
        r.minus(s),
        d[1].mul_add(four, d[3].mul_add(minus_five, d[5])),
    ]
}

/// `B v`: the adjoint of [`input`].
#[inline(always)]
pub fn input_adjoint<V: Vector>(v: [V; 6]) -> [V; 6] {
    let (two, four, minus_four, minus_five) =
        (V::splat(2.0), V::splat(4.0), V::splat(-4.0), V::splat(-5.0));
    let (sum_one, difference_one) = (v[1].plus(v[2]), v[1].minus(v[2]));
    let (sum_two, difference_two) = (v[3].plus(v[4]), v[3].minus(v[4]).times(two));
    [
        v[0].times(four),
        v[5].minus(difference_one).mul_add(four, V::zero().minus(difference_two)),
        v[0].mul_add(minus_five, sum_one.mul_add(minus_four, V::zero().minus(sum_two))),
        v[5].mul_add(minus_five, difference_one.plus(difference_two)),
        v[0].plus(sum_one).plus(sum_two),
        v[5],
    ]
}

/// `Aᵀ m`: four outputs.
#[inline(always)]
pub fn output<V: Vector>(m: [V; 6]) -> [V; 4] {
    let (sum_one, difference_one) = (m[1].plus(m[2]), m[1].minus(m[2]));
    let (sum_two, difference_two) = (m[3].plus(m[4]), m[3].minus(m[4]));
    [
        m[0].plus(sum_one).plus(sum_two),
        difference_two.mul_add(V::splat(2.0), difference_one),
        sum_two.mul_add(V::splat(4.0), sum_one),
        difference_two.mul_add(V::splat(8.0), difference_one.plus(m[5])),
    ]
}

/// `A y`: the adjoint of [`output`].
#[inline(always)]
pub fn output_adjoint<V: Vector>(y: [V; 4]) -> [V; 6] {
    let (two, four) = (V::splat(2.0), V::splat(4.0));
    let (even_one, odd_one) = (y[0].plus(y[2]), y[1].plus(y[3]));
    let (even_two, odd_two) = (y[2].mul_add(four, y[0]), y[3].mul_add(four, y[1]).times(two));
    [
        y[0],
        even_one.plus(odd_one),
        even_one.minus(odd_one),
        even_two.plus(odd_two),
        even_two.minus(odd_two),
        y[3],
    ]
}

/// `G w`: three taps of a filter.
#[inline(always)]
pub fn filter<V: Vector>(w: [V; 3]) -> [V; 6] {
    let sixth = V::splat(1.0 / 6.0);
    let even_one = w[0].plus(w[2]).times(V::splat(-1.0 / 6.0));
    let odd_one = w[1].times(sixth);
    let even_two = w[0].mul_add(V::splat(1.0 / 24.0), w[2].times(sixth));
    let odd_two = w[1].times(V::splat(1.0 / 12.0));
    [
        w[0].times(V::splat(0.25)),
        even_one.minus(odd_one),
        even_one.plus(odd_one),
        even_two.plus(odd_two),
        even_two.minus(odd_two),
        w[2],
    ]
}

/// `Gᵀ u`: the adjoint of [`filter`].
#[inline(always)]
pub fn filter_adjoint<V: Vector>(u: [V; 6]) -> [V; 3] {
    let sixth = V::splat(1.0 / 6.0);
    let (sum_one, difference_one) = (u[1].plus(u[2]), u[2].minus(u[1]));
    let (sum_two, difference_two) = (u[3].plus(u[4]), u[3].minus(u[4]));
    [
        u[0].mul_add(
            V::splat(0.25),
            sum_two.mul_add(V::splat(1.0 / 24.0), sum_one.times(V::splat(-1.0 / 6.0))),
        ),
        difference_one.mul_add(sixth, difference_two.times(V::splat(1.0 / 12.0))),
        sum_two.minus(sum_one).mul_add(sixth, u[5]),
    ]
}
