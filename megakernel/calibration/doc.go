// Package calibration finds out what a device is whose driver does not tell: how many
// workgroups run at a time without slowing each other down.
//
// [Measure] times one small kernel at doubling numbers of workgroups. As long as there is
// room, twice as many take the same time; once the device is full, twice the time. It ends
// after some waves. The most work that was done in the time of one workgroup is the number of
// units, each of which holds one workgroup. That takes a fraction of a second, twice: on a busy
// device the two disagree, and the smaller one is used until the next start measures again.
//
// [Recall] and [Remember] keep the outcome in a file for each device and driver. The file may
// be damaged; then the device is measured again.
package calibration
