// Runs again the levels that a director ran itself, without decisions. It writes only what the walks write.

void main() {
    uint last = control_block[LEVEL_AT];
    load_words(); // as they were before the first of these levels
    mark_frontier(true, false);
    while (level < last) {
        walk_level();
        take_counts();
        turn_over(true);
    }
    mark_frontier(true, true);
}
