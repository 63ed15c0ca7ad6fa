"""The laws that losses, regularisers and designs obey, for those of your own."""
