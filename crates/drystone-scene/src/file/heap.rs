//! Copies as heaps begin: on a lattice that is shaken a little, or strewn at random until none overlap. The
//! gallery's scenes begin so, and the same numbers make the same places here.

use drystone::random::Random;
use drystone::{BodyDef, Pose};
use glam::DVec3;

use super::copies::{most_bodies, moved, numbered};
use super::settings::{not_negative, positive};
use crate::gallery::arrange;
use crate::text::{At, Fault};

/// Cells that may be passed over, and so many more for each body.
const PASSED: [i64; 2] = [10_000, 4];

fn seeded(at: &At) -> Result<Random, Fault> {
    Ok(Random::new(at.get("seed").map_or(Ok(1), |s| s.whole(0, 1 << 53))? as u64))
}

/// Cells in layers, from the body's place up and around it sideways; x runs fastest. Each has a body near its
/// middle.
pub(super) fn jittered(at: &At, def: &BodyDef) -> Result<Vec<BodyDef>, Fault> {
    let count = at.need("count")?.whole(1, most_bodies())?;
    let across: Vec<i64> =
        at.need("across")?.items()?.map(|n| n.whole(1, most_bodies())).collect::<Result<_, _>>()?;
    let &[nx, ny] = across.as_slice() else {
        return Err(at.need("across")?.fault(format!("must have 2 numbers, got {}", across.len())));
    };
    let cell_at = at.need("cell")?;
    for size in cell_at.items()? {
        positive(&size, "m")?;
    }
    let cell = cell_at.vector()?;
    let jitter = DVec3::splat(at.get("jitter").map_or(Ok(0.0), |j| not_negative(&j, "m"))?);
    let clear = match at.get("clear") {
        None => None,
        Some(c) => {
            c.only(&["at", "r"])?;
            Some((c.need("at")?.vector()?, not_negative(&c.need("r")?, "m")?))
        }
    };
    let mut random = seeded(at)?;
    let half = 0.5 * DVec3::new(nx as f64, ny as f64, 0.0) * cell;
    let mut places = Vec::with_capacity(count as usize);
    for site in 0..PASSED[0] + count.saturating_mul(PASSED[1]) {
        let layer = nx.saturating_mul(ny);
        let number = DVec3::new((site % nx) as f64, (site / nx % ny) as f64, (site / layer) as f64);
        let x = (number + 0.5) * cell - half + random.in_box(-jitter, jitter);
        if clear.is_none_or(|(middle, r)| x.distance(middle) > r) {
            places.push(x);
            if places.len() as i64 == count {
                return Ok(numbered(def, places));
            }
        }
    }
    Err(at.fault("'clear' leaves too little room for the bodies"))
}

/// Turned at random in a box around the body's place sideways, and from there up; then pushed apart until
/// none overlap: about half of a volume can be filled so.
pub(super) fn strewn(at: &At, def: &BodyDef) -> Result<Vec<BodyDef>, Fault> {
    let count_at = at.need("count")?;
    let count = count_at.whole(1, most_bodies())? as usize;
    let size_at = at.need("size")?;
    for x in size_at.items()? {
        positive(&x, "m")?;
    }
    let size = size_at.vector()?;
    let [collider] = def.colliders.as_slice() else {
        return Err(at.fault("bodies with one shape can be strewn"));
    };
    if collider.local != Pose::IDENTITY || !collider.shape.bounding_radius().is_finite() {
        return Err(at.fault("bodies with one shape, at their centre and not without end, can be strewn"));
    }
    // So full at most: more than that takes for ever.
    let share = count as f64 * collider.shape.volume() / size.element_product();
    if share > 0.56 {
        let text = format!("would fill {:.0} % of the box: at most 55 % can be", 100.0 * share);
        return Err(count_at.fault(text));
    }
    let grains = arrange::strew(vec![collider.shape.clone(); count], size, &mut seeded(at)?);
    let grains = grains.map_err(|e| at.fault(e.replace("lower 'fraction'", "take a larger box")))?;
    let placed = |(k, g): (usize, arrange::Grain)| {
        let mut copy = moved(def, g.pose.position, &k.to_string());
        copy.rotation = g.pose.rotation * def.rotation;
        copy
    };
    Ok(grains.into_iter().enumerate().map(placed).collect())
}
