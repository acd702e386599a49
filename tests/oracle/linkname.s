// An assembly file lets the package declare functions without a body, as early.go does.
