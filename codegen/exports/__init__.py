"""Objects that programs in other languages link: checked entries, several instruction sets, archives, shared objects."""
