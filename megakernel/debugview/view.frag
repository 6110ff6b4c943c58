// The ring as a picture: a pixel for each slot, coloured by its state, below an
// overlay. The host prints the version, the ring's layout, the area, the number
// of slots and the colours above this line.

uniform sampler2D view_overlay;
uniform ivec2 view_size;

out vec4 pixel;

void main() {
    ivec2 at = ivec2(int(gl_FragCoord.x), view_size.y - 1 - int(gl_FragCoord.y));
    vec4 overlay = texelFetch(view_overlay, at, 0);
    ivec2 inside = at - VIEW_AREA.xy;
    int slot = inside.y * (VIEW_AREA.z - VIEW_AREA.x) + inside.x;
    vec3 colour = vec3(0.0);
    if (all(greaterThanEqual(at, VIEW_AREA.xy)) && all(lessThan(at, VIEW_AREA.zw)) && slot < VIEW_SLOTS) {
        uint state = statuses[slot] & STATUS_STATE_MASK;
        colour = state < uint(VIEW_COLOURS.length()) ? VIEW_COLOURS[state] : vec3(1.0);
    }
    pixel = vec4(mix(colour, overlay.rgb, overlay.a), 1.0);
}
