"""What a condition may say besides yes and no."""


class Unclear(Exception):
    """A value is missing or of the wrong type. In a rule that restricts this counts as ask, in one that
    allows as no: an error never loosens.
    """
