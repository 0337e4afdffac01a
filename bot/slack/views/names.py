"""The ids of buttons and forms: what the views write is what the routes read."""

APPROVE = "af:approve"
#: Followed by the option's id.
OPTION = "af:option:"
CHOOSE = "af:choose"
EDIT = "af:edit"
REJECT = "af:reject"
ANSWER = "af:answer"
EXPLAIN = "af:explain"
REVIEW = "af:review"
MORE = "af:more"
REVOKE = "af:revoke"
#: On the notice of an expired question, and on the confirmed scope.
AGAIN = "af:again"
RESCOPE = "af:rescope"
#: Opens a link; Slack tells us of the click all the same.
LINK = "af:link"

#: Entries of the overflow menu, before what they are about.
REMEMBER = "remember"
STOP = "stop"
FULL = "full"
LATER = "later"

#: Forms.
APPROVE_FORM = "af:form:approve"
REVIEW_FORM = "af:form:review"
REJECT_FORM = "af:form:reject"
EDIT_FORM = "af:form:edit"
ANSWER_FORM = "af:form:answer"
REMEMBER_FORM = "af:form:remember"

#: Inputs of forms.
REASON = "reason"
WHICH = "which"
PLACE = "place"
LASTS = "lasts"
USES = "uses"
TEXT = "text"
VALUE = "value"
