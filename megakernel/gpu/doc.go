// Package gpu is the seam between the engine and OpenGL: what a compute context
// can be asked to do ([Device]), the names of its objects, how its loss is told
// ([Lost]), and what the engine's parts need to know about a driver ([Traits]).
//
// Package glcompute satisfies Device with a real context. It imports nothing of the
// project, so the interface speaks in standard types: the names of objects are
// aliases of struct types without a name, which are identical in both packages, and
// different from each other for the compiler.
package gpu
