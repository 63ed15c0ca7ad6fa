"""The columns that nothing penalises: their span, a basis, and proofs of independence."""
