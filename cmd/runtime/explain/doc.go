// Package explain says of one queue why its plan is as it is: the reason that binds, the values that it was decided
// from, with their age and source, what would change it, and what to do next. It is pure: decisions as the stream has
// them and what is known beside them go in, an Explanation comes out.
package explain
