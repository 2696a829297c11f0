package engine

// FormsUsed says how many requests were compiled by the form of others.
func (e *Engine) FormsUsed() int64 { return e.forms.hits.Load() }
