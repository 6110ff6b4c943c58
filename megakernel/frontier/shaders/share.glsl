// Shares the edges of a workgroup's rows: prefix sums over the degrees, and binary search
// for the row of an edge.

shared uint row_end[WIDTH];   // sum of the degrees up to and including this row
shared uint row_shift[WIDTH]; // first edge of the row, minus the sum of the degrees before it
shared uint row_value[WIDTH]; // what leaves a pushed row, or what arrived at a pulled one

const uint SCAN_ROW = 16u;

// share_rows takes each invocation's row and returns the number of edges.
uint share_rows(uint first, uint degree) {
    uint lane = gl_LocalInvocationIndex;
    row_end[lane] = degree;
    barrier();
    if (lane < WIDTH / SCAN_ROW) {
        uint sum = 0u;
        for (uint i = 0u; i < SCAN_ROW; i++) {
            sum += row_end[lane * SCAN_ROW + i];
            row_end[lane * SCAN_ROW + i] = sum;
        }
    }
    barrier();
    uint before = 0u;
    for (uint i = 0u; i < lane / SCAN_ROW; i++) {
        before += row_end[i * SCAN_ROW + SCAN_ROW - 1u];
    }
    uint end = row_end[lane] + before;
    barrier();
    row_end[lane] = end;
    row_shift[lane] = first - (end - degree);
    barrier();
    return row_end[WIDTH - 1u];
}

// row_of is the row of an edge; e is below the number that share_rows returned.
uint row_of(uint e) {
    uint row = 0u;
    for (uint i = 1u; i <= LOG_WIDTH; i++) {
        uint step = WIDTH >> i;
        row += row_end[row + step - 1u] <= e ? step : 0u;
    }
    return row;
}
