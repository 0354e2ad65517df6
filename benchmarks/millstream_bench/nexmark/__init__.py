"""An auction house: the NEXMark benchmark."""
