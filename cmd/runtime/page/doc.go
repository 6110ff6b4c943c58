// Package page is the live view for a browser: what is wrong first, a page for each queue with ten minutes of its plans and
// the explanation of each change, and one for each worker. It is HTML that the server writes anew twice a second and sends
// over server-sent events; drawings are SVG inside it. It needs nothing from elsewhere, and without scripts it reloads.
// It reads only.
package page
