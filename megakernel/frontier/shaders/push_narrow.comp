// Pushes, and looks after the bitmaps.

void main() {
    // The groups behind those that push look after the bitmaps.
    if (gl_WorkGroupID.x >= walkers) {
        sweep_words(gl_WorkGroupID.x - walkers);
    } else {
        push_rows(walkers * WIDTH);
    }
    end_hits();
}
