// Runs the levels again that a director ran itself: no decision, and nothing is written but what the walk writes.

void main() {
    uint last = control_block[LEVEL_AT];
    load_words(); // as the director found them before the first
    mark_frontier(true, false);
    while (level < last) {
        walk_level();
        take_counts();
        turn_over(true);
    }
    mark_frontier(true, true);
}
