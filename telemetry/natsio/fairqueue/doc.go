// Package fairqueue lets requests of many tenants wait for one server. They are served by turns, one of
// each tenant that has any, and no tenant fills what all may take: a flood delays its own sender, and
// everybody else by one request.
package fairqueue
