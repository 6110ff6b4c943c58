// Pushes, clears bitmaps and gathers what waits.

void main() {
    // The groups behind those that push clear and gather.
    if (gl_WorkGroupID.x >= walkers) {
        sweep_words(gl_WorkGroupID.x - walkers);
    } else {
        push_rows(walkers * WIDTH);
    }
    end_hits();
}
