pub struct TokenCache {
    entries: HashMap<TokenKey, CachedToken>,
}

impl TokenCache {
    pub fn evict_expired(&mut self, now: Instant) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, token| token.expires_at > now);
        before - self.entries.len()
    }
}
