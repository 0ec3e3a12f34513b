"""The heart, pure: theorems that stay true when everything may depend on earlier answers.

`filters` decide about the next query, `odometers` bound what has been lost so far, and the adaptive game measures both
against the strongest analyst there is. Theorems for parameters fixed in advance live in `dosimeter.composition`.
"""
