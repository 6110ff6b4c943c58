// Pushes along the tiles that the push before it has cut.

void main() {
    push_tiles(counted_tile_count, gl_NumWorkGroups.x * WIDTH);
    end_hits();
}
