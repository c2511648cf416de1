"""The parts of a certificate: each makes its pages from the specification and what is written."""
