//! What can be set about the search.

/// How the search goes about its work; the defaults are those of play.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The part of [`Settings::hash`](crate::search::Settings::hash) for evaluations remembered, in hundredths,
    /// at most 50; 0 remembers none.
    pub cache_percent: u32,
    /// Positions for each call of the network.
    pub batch_size: u32,
    /// How much the search trusts the network's probabilities over what it has seen.
    pub c_puct: f64,
    /// What a move that was not tried is taken to be worth.
    pub fpu: Fpu,
    /// See [`Fpu::Parent`].
    pub fpu_reduction: f64,
    /// What a playout in flight is taken to have lost, 0 to 1: 1 counts it as a lost game.
    pub virtual_loss: f64,
    /// The part of the root's probabilities that is random, 0 to 1: 0 for play, 0.25 for games to learn from.
    pub root_noise: f64,
    /// The parameter of the noise's Dirichlet distribution.
    pub noise_alpha: f64,
    /// [`Settings::temperature`](crate::search::Settings::temperature) counts in the first so many plies of
    /// a game.
    pub temperature_plies: u32,
    /// Playouts a move where nothing else sets a limit.
    pub nodes: u32,
}

/// First play urgency: what a move that was not tried is taken to be worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fpu {
    /// A draw.
    Zero,
    /// As much as the position, less [`Parameters::fpu_reduction`] times the square root of the probability
    /// of the moves already tried.
    Parent,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            cache_percent: 12,
            batch_size: 8,
            c_puct: 1.5,
            fpu: Fpu::Parent,
            fpu_reduction: 0.3,
            virtual_loss: 1.0,
            root_noise: 0.0,
            noise_alpha: 0.3,
            temperature_plies: 30,
            nodes: 800,
        }
    }
}
