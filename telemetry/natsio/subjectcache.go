package natsio

import "ringmaster/telemetry"

// subjectCache remembers what subjects say: publishers use the same ones again
// and again. It is not safe for concurrent use.
type subjectCache [telemetry.TokenPlaces]parsedSubject

type parsedSubject struct {
	subject       string // empty: none
	class         telemetry.SubjectClass
	worker, queue string
}

// parse is telemetry.Subjects.Parse.
func (c *subjectCache) parse(s telemetry.Subjects, subject string) (class telemetry.SubjectClass, worker, queue string, err error) {
	p := &c[telemetry.TokenPlace(subject)]
	if p.subject != subject || subject == "" {
		class, worker, queue, err := s.Parse(subject)
		if err != nil {
			return class, worker, queue, err
		}
		*p = parsedSubject{subject, class, worker, queue}
	}
	return p.class, p.worker, p.queue, nil
}
