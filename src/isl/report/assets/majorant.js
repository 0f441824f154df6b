// The uncertainty constrained policy of one state, as in isl.exploration: the least concave
// majorant of the points (l, l*q) and the origin decides everything.
"use strict";

function solveState(q, ell, kappa) {
  const order = q.map((_, action) => action).sort((a, b) => ell[a] - ell[b] || q[a] - q[b]);
  const hull = [{ ell: 0, height: 0, q: 0, actions: [] }];
  const slope = (from, to) =>
    from.ell === 0 ? to.q : to.q + (from.ell * (to.q - from.q)) / (to.ell - from.ell);
  for (const action of order) {
    const last = hull[hull.length - 1];
    if (last.ell === ell[action] && last.q === q[action]) {
      last.actions.push(action); // equal in both: they share
      continue;
    }
    const point = { ell: ell[action], height: ell[action] * q[action], q: q[action], actions: [action] };
    if (last.ell === point.ell) hull.pop(); // of equal l the larger q stays
    while (hull.length > 1 && slope(hull[hull.length - 2], hull[hull.length - 1]) <=
        slope(hull[hull.length - 1], point)) hull.pop();
    hull.push(point);
  }
  const slopes = hull.slice(1).map((point, j) => slope(hull[j], point));
  // Relative to the steepest slope, max q: no exponential overflows.
  const p = slopes.map((s) => Math.exp((s - slopes[0]) / kappa));
  const ellMax = hull[hull.length - 1].ell;
  const mean = p.reduce((sum, pj, j) => sum + (pj * (hull[j + 1].ell - hull[j].ell)) / ellMax, 0);
  const policy = q.map(() => 0);
  const pareto = q.map(() => false);
  hull.slice(1).forEach((point, j) => {
    const drop = p[j] - (j + 1 < p.length ? p[j + 1] : 0); // eq. (optimal_policy)
    for (const action of point.actions) {
      policy[action] = ((point.ell / ellMax) * drop) / mean / point.actions.length;
      pareto[action] = true;
    }
  });
  return { policy, pareto, hull, value: slopes[0] + kappa * Math.log(mean) };
}
