//! Where the time of an evaluation goes.

use std::time::{Duration, Instant};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Planes into blocks, and the first convolution.
    Stem,
    /// The matrix products of the tower's convolutions.
    Products,
    /// Into Winograd's form.
    Transforms,
    /// Out of it.
    Inverses,
    /// What is done to feature maps between convolutions: ReLU, addition, means.
    Maps,
    /// The two layers of squeeze-and-excitation.
    SqueezeExcite,
    /// The recurrent gate.
    Gate,
    /// Both heads.
    Heads,
}

impl Stage {
    /// All of them, in the order of the forward pass.
    pub const ALL: [Self; 8] = [
        Self::Stem,
        Self::Transforms,
        Self::Products,
        Self::Inverses,
        Self::Maps,
        Self::SqueezeExcite,
        Self::Gate,
        Self::Heads,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stem => "stem",
            Self::Products => "products",
            Self::Transforms => "transforms",
            Self::Inverses => "inverse transforms",
            Self::Maps => "between convolutions",
            Self::SqueezeExcite => "squeeze-and-excitation",
            Self::Gate => "gate",
            Self::Heads => "heads",
        }
    }
}

/// What a stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// How long, all in all.
    pub time: Duration,
    /// Multiplications with additions of its matrix products.
    pub products: u64,
}

/// One thread's account of its time. It costs nothing while it does not run.
pub struct Clock {
    last: Option<Instant>,
    spent: [Spent; Stage::ALL.len()],
}

impl Clock {
    /// A clock that stands.
    pub fn new() -> Self {
        Self { last: None, spent: Default::default() }
    }

    /// Starts from zero.
    pub fn start(&mut self) {
        *self = Self { last: Some(Instant::now()), ..Self::new() };
    }

    /// Stops, and tells the account in the order of [`Stage::ALL`].
    pub fn stop(&mut self) -> [Spent; Stage::ALL.len()] {
        self.last = None;
        self.spent
    }

    /// The time since the last lap was spent on this stage, with so many multiplications.
    #[inline]
    pub fn lap(&mut self, stage: Stage, products: usize) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            let at = Stage::ALL.iter().position(|&s| s == stage).unwrap_or_default();
            self.spent[at].time += now - *last;
            self.spent[at].products += products as u64;
            *last = now;
        }
    }
}
