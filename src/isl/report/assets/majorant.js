// The uncertainty constrained policy of one state, as in isl.exploration: the least concave
// majorant of the points (l, l*q) and the origin decides everything.
"use strict";

// null where the numbers have no majorant: those of a run that diverged.
function solveState(q, ell, kappa) {
  if (![...q, ...ell].every(isNumber) || ell.some((value) => value <= 0)) return null;
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

// The kappa of a moment, from rows { q, ell, policy } of its states. An agent that learns in units of its
// rewards (Seeker) tells q and l in the environment's, and its own kappa times that unit is what its policy
// follows. null if no kappa explains the policies: the agent does something else with its l.
const CLOSE = 0.02; // mean distance of probabilities
const SAMPLE = 48; // states

function kappaOf(rows, near) {
  const known = rows.filter((row) => [...row.q, ...row.ell, ...row.policy].every(isNumber) && row.ell.every((value) => value > 0));
  const lastOf = (row) => row.ell.indexOf(Math.max(...row.ell));
  const telling = known.filter((row) => row.policy[lastOf(row)] > 0.02 && row.policy[lastOf(row)] < 0.98);
  const among = telling.length ? telling : known;
  const some = among.filter((_, i) => i % Math.ceil(among.length / SAMPLE) === 0);
  const off = (kappa) => some.reduce((sum, row) => sum + Math.max(...solveState(row.q, row.ell, kappa).policy.map((p, i) => Math.abs(p - row.policy[i]))), 0) / some.length;
  if (!some.length || off(near) <= CLOSE) return near;
  // The larger kappa, the more likely is the action of the largest l: each telling state gives a kappa.
  const told = telling.length ? some.map((row) => {
    let [low, high] = [-40, 40];
    for (let i = 0; i < 40; i++) {
      const middle = (low + high) / 2;
      if (solveState(row.q, row.ell, near * 2 ** middle).policy[lastOf(row)] < row.policy[lastOf(row)]) low = middle; else high = middle;
    }
    return near * 2 ** low;
  }) : [];
  const middle = told.sort((a, b) => a - b)[told.length >> 1];
  return middle !== undefined && off(middle) <= CLOSE ? middle : null;
}
