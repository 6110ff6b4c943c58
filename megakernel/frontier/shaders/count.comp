// Counts the nodes that have a value, and their out-edges, after the last level.

shared uint counted_nodes, counted_edges;

void main() {
    job = control_job;
    if (gl_LocalInvocationIndex == 0u) {
        counted_nodes = 0u;
        counted_edges = 0u;
    }
    barrier();
    uint n = 0u, m = 0u;
    for (uint v = gl_GlobalInvocationID.x; v < job.nodes; v += gl_NumWorkGroups.x * WIDTH) {
        if (values[v] != IDENTITY) {
            n++;
            m += out_degree(v);
        }
    }
    atomicAdd(counted_nodes, n);
    atomicAdd(counted_edges, m);
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        atomicAdd(reached, counted_nodes);
        atomicAdd(reached_edges, counted_edges);
    }
}
