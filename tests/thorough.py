"""What CI tries more of than the plain suite: it has `--hypothesis-profile thorough`."""

from hypothesis import settings


def is_thorough() -> bool:
    return settings.get_current_profile_name() == "thorough"
