//! Problems whose result is a slice that parts fill in alone: primes, a generation of cells, a step of bodies.

/// Items that are filled in, a part at a time.
pub(super) trait Slices: Sync {
    /// One of them.
    type Item: Copy + Default + PartialEq + Send;

    /// So many items are a part.
    const PART: usize;

    /// What is filled in.
    fn items(&mut self) -> &mut Vec<Self::Item>;

    /// Fills in a part that begins at this place. It is one function for all contenders, as [`work`](super::work) is.
    fn fill(&self, first: usize, part: &mut [Self::Item]);

    /// # Panics
    /// If they are filled in otherwise than one thread does it.
    fn check(&mut self) {
        let filled = std::mem::take(self.items());
        let mut expected = vec![Self::Item::default(); filled.len()];
        for (at, part) in expected.chunks_mut(Self::PART).enumerate() {
            self.fill(at * Self::PART, part);
        }
        assert!(expected == filled, "a part has other items");
        *self.items() = filled;
    }
}

/// The primes below a limit.
pub struct Sieve {
    is_prime: Vec<bool>,
    /// Those up to the root of the limit.
    small: Vec<usize>,
}

impl Sieve {
    pub(super) fn new(limit: usize) -> Self {
        let has_divisor =
            |number: usize| (2..=number.isqrt()).any(|divisor| number.is_multiple_of(divisor));
        Self {
            is_prime: vec![false; limit],
            small: (2..=limit.isqrt())
                .filter(|number| !has_divisor(*number))
                .collect(),
        }
    }
}

impl Slices for Sieve {
    type Item = bool;

    const PART: usize = 1 << 15;

    fn items(&mut self) -> &mut Vec<bool> {
        &mut self.is_prime
    }

    #[inline(never)]
    fn fill(&self, first: usize, part: &mut [bool]) {
        for (number, is_prime) in (first..).zip(&mut *part) {
            *is_prime = number > 1;
        }
        for &prime in &self.small {
            let multiple = first.next_multiple_of(prime).max(prime * prime);
            for number in (multiple..first + part.len()).step_by(prime) {
                part[number - first] = false;
            }
        }
    }
}

/// Conway's game of life on a square whose edges meet.
pub struct Life {
    cells: Vec<bool>,
    next: Vec<bool>,
    side: usize,
}

impl Life {
    pub(super) fn new(side: usize) -> Self {
        let lives = |cell: u64| cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
        let amount = side * side;
        Self {
            cells: (0..amount as u64).map(lives).collect(),
            next: vec![false; amount],
            side,
        }
    }

    /// The next generation becomes the current one.
    pub(super) fn go_on(&mut self) {
        std::mem::swap(&mut self.cells, &mut self.next);
    }

    fn lives_on(&self, cell: usize) -> bool {
        let side = self.side;
        let near = |place: usize| [(place + side - 1) % side, place, (place + 1) % side];
        let (rows, columns) = (near(cell / side), near(cell % side));
        let cells = rows
            .into_iter()
            .flat_map(|row| columns.map(|column| row * side + column));
        // The cell itself is one of them.
        let alive = cells.filter(|cell| self.cells[*cell]).count();
        alive == 3 || alive == 4 && self.cells[cell]
    }
}

impl Slices for Life {
    type Item = bool;

    const PART: usize = 256;

    fn items(&mut self) -> &mut Vec<bool> {
        &mut self.next
    }

    #[inline(never)]
    fn fill(&self, first: usize, part: &mut [bool]) {
        for (cell, lives) in (first..).zip(part) {
            *lives = self.lives_on(cell);
        }
    }
}

/// A place and a speed, each of three numbers.
type Body = [[f32; 3]; 2];

/// Bodies that attract each other.
pub struct Bodies {
    bodies: Vec<Body>,
    next: Vec<Body>,
}

impl Bodies {
    pub(super) fn new(amount: usize) -> Self {
        let body = |number: usize| {
            let angle = number as f32;
            [[angle.sin(), angle.cos(), (0.1 * angle).sin()], [0.0; 3]]
        };
        Self {
            bodies: (0..amount).map(body).collect(),
            next: vec![Body::default(); amount],
        }
    }

    /// The next step becomes the current one.
    pub(super) fn go_on(&mut self) {
        std::mem::swap(&mut self.bodies, &mut self.next);
    }

    fn moved(&self, [place, speed]: Body) -> Body {
        const STEP: f32 = 0.001;
        /// Keeps bodies that meet from infinite speed.
        const SOFT: f32 = 0.01;
        let mut pulled = [0.0_f32; 3];
        for [other, _] in &self.bodies {
            let way: [f32; 3] = std::array::from_fn(|axis| other[axis] - place[axis]);
            let square = way.iter().map(|way| way * way).sum::<f32>() + SOFT;
            let pull = 1.0 / (square * square.sqrt());
            for (sum, way) in pulled.iter_mut().zip(way) {
                *sum += way * pull;
            }
        }
        let speed = std::array::from_fn(|axis| speed[axis] + STEP * pulled[axis]);
        [
            std::array::from_fn(|axis| place[axis] + STEP * speed[axis]),
            speed,
        ]
    }
}

impl Slices for Bodies {
    type Item = Body;

    const PART: usize = 8;

    fn items(&mut self) -> &mut Vec<Body> {
        &mut self.next
    }

    #[inline(never)]
    fn fill(&self, first: usize, part: &mut [Body]) {
        for (next, body) in part.iter_mut().zip(&self.bodies[first..]) {
            *next = self.moved(*body);
        }
    }
}
